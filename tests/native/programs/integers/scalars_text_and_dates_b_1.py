import numpy as np


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    s = np.array(['apple','Banana','cherry pie'])
    answers.append(attempt(lambda: np.char.upper(s)))
    answers.append(attempt(lambda: np.char.add(s,'x')))
    answers.append(attempt(lambda: np.char.multiply(s,2)))
    answers.append(attempt(lambda: np.char.center(s,12)))
    answers.append(attempt(lambda: np.char.str_len(s)*10**10))
    answers.append(attempt(lambda: np.strings.replace(s,'a','A')))
    answers.append(attempt(lambda: np.strings.startswith(s,'a')))
    answers.append(attempt(lambda: np.strings.isalpha(s)))
    answers.append(attempt(lambda: np.strings.zfill(s,12)))
    answers.append(attempt(lambda: np.strings.partition(s,' ')))
    answers.append(attempt(lambda: np.array(['10','2','3000000000']).astype(int)))
    d = np.array(['2024-02-28','2024-02-29','1969-12-31'], dtype='M8[D]')
    return answers
