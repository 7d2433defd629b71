# refused: ModuleNotFoundError: json
import simplejson
