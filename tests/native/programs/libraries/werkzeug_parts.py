from werkzeug.datastructures import MultiDict
from werkzeug.security import check_password_hash, generate_password_hash
from werkzeug.test import Client, EnvironBuilder
from werkzeug.utils import secure_filename
from werkzeug.wrappers import Request, Response


def main(args):
    @Request.application
    def application(request):
        return Response(f"{request.method} {request.path} {request.args.get('q')}", status=201)

    answer = Client(application).get("/a/b?q=1")
    hashed = generate_password_hash("pass word", method="scrypt:256:8:1")
    return [
        answer.status, answer.text, secure_filename("../../etc/pass wd.txt"),
        check_password_hash(hashed, "pass word"), check_password_hash(hashed, "other"),
        hashed.partition("$")[0], MultiDict([("a", 1), ("a", 2)]).getlist("a"),
        EnvironBuilder("/x", query_string={"b": "c d"}).get_environ()["QUERY_STRING"],
    ]
