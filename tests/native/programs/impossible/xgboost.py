# refused: ModuleNotFoundError: scikit-learn
import xgboost
