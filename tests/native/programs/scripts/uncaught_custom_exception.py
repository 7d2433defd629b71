# script
class ValidationError(Exception):
    """Raised for a bad record."""


def validate(r):
    if "id" not in r:
        raise ValidationError(f"record {r} has no id")


for rec in ({"id": 1}, {"x": 2}):
    validate(rec)
    print("ok", rec)
