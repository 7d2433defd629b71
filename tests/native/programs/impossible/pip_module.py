# refused: : pip
import pip
pip.main(["install", "requests"])
