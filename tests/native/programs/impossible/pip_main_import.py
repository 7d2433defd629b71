# refused: ModuleNotFoundError: install
import pip

pip.main(["install", "requests"])
