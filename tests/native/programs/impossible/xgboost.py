# refused: ModuleNotFoundError: sklearn
import xgboost
