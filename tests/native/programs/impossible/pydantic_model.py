# refused: ModuleNotFoundError: dataclass
from pydantic import BaseModel


class U(BaseModel):
    id: int


print(U(id="1"))
