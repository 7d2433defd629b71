# script
import json
from pathlib import Path
from typing import Optional

from pydantic import BaseModel, Field, NonNegativeFloat, ValidationError


class Reading(BaseModel):
    sensor: str = Field(alias="id", min_length=2)
    value: NonNegativeFloat
    unit: str = "C"
    comment: Optional[str] = None


lines = [
    {"id": "a1", "value": 20.5},
    {"id": "a2", "value": "21.25", "unit": "F"},
    {"id": "b", "value": -1},
    {"value": "warm"},
]
path = Path("readings.jsonl")
path.write_text("".join(json.dumps(line) + "\n" for line in lines))

good, bad = [], []
for number, line in enumerate(path.read_text().splitlines(), 1):
    try:
        good.append(Reading.model_validate_json(line))
    except ValidationError as error:
        bad.append((number, error.error_count(), sorted(one["type"] for one in error.errors())))

print(good)
print(bad)
print(sum(reading.value for reading in good) / len(good))
[reading.model_dump(by_alias=True, exclude_none=True) for reading in good]
