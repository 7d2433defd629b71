"""Filters beside those of Jinja: `commas` for numbers and `date` for dates."""

import datetime


def commas(value, digits=None):
    """Returns a number with commas between thousands, and `digits` after the point."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"`commas` takes a number, not {value!r:.60}")
    if digits is None:
        return f"{value:,}"
    if not isinstance(digits, int) or not 0 <= digits <= 20:
        raise ValueError("`commas` takes 0 to 20 digits")
    return f"{value:,.{digits}f}"


def date(value, form="%Y-%m-%d"):
    """Returns a date in ISO 8601 in another form, such as `%d %B %Y`."""
    if not isinstance(value, str):
        raise ValueError(f"`date` takes a text such as 2026-01-31, not {value!r:.60}")
    try:
        moment = datetime.datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f"`date` takes a text such as 2026-01-31, not `{value[:60]}`") from None
    return moment.strftime(form)


FILTERS = {"commas": commas, "date": date}
