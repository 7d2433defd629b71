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
    d = np.array(['2024-02-28','2024-02-29','1969-12-31'], dtype='M8[D]')
    answers.append(attempt(lambda: np.busday_count('2024-01-01', '2024-12-31')))
    answers.append(attempt(lambda: np.busday_offset(d, 1, roll='forward')))
    answers.append(attempt(lambda: np.is_busday(d)))
    answers.append(attempt(lambda: np.datetime64('2024-01-01T12:00') - np.datetime64('2023-01-01')))
    answers.append(attempt(lambda: np.timedelta64(5,'D')/np.timedelta64(1,'h')))
    answers.append(attempt(lambda: np.timedelta64(1,'Y')+np.timedelta64(1,'M')))
    answers.append(attempt(lambda: np.arange('2024-01','2024-05',dtype='M8[M]')))
    answers.append(attempt(lambda: np.datetime64('NaT')))
    answers.append(attempt(lambda: np.isnat(d)))
    answers.append(attempt(lambda: np.datetime_as_string(d, unit='s', timezone='UTC')))
    answers.append(attempt(lambda: np.datetime64(2**62,'ns')))
    answers.append(attempt(lambda: np.datetime64('2262-04-11','ns').astype(int)))
    answers.append(attempt(lambda: np.datetime64('9999-12-31','us').astype(int)))
    return answers
