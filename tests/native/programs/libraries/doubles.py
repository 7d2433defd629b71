import os

import mock
import requests
import requests_mock
from pyfakefs.fake_filesystem_unittest import Patcher


def main(args):
    with requests_mock.Mocker() as mocker:
        mocker.get("https://api.example.org/v1", json={"a": 1}, status_code=203)
        answer = requests.get("https://api.example.org/v1", params={"q": "x"}, timeout=3)
        found = [answer.json(), answer.status_code, mocker.last_request.qs]
    with Patcher() as patcher:
        patcher.fs.create_file("/data/a.txt", contents="text")
        os.makedirs("/data/sub")
        with open("/data/a.txt") as file:
            found += [file.read(), sorted(os.listdir("/data"))]
    double = mock.Mock(side_effect=[1, ValueError("no")])
    found += [double("a"), double.call_count, os.path.exists("/data/a.txt")]
    return found
