# script
from pydantic import BaseModel, ValidationError


class U(BaseModel):
    id: int


print(U(id="1"))
try:
    U(id="one")
except ValidationError as error:
    print(error)
