from flask import Blueprint, Flask, abort, jsonify, render_template_string, request, session


def main(args):
    app = Flask("shop")
    app.secret_key = "secret"
    api = Blueprint("api", "api", url_prefix="/api")

    @api.route("/items/<int:number>", methods=["GET", "POST"])
    def item(number):
        if number > 9:
            abort(404)
        session["seen"] = session.get("seen", 0) + 1
        return jsonify(number=number, sent=request.get_json(silent=True), seen=session["seen"])

    @app.route("/hello")
    def hello():
        return render_template_string("Hello {{ name }}!", name=request.args.get("name", "<you>"))

    @app.errorhandler(404)
    def missing(error):
        return {"error": str(error.code)}, 404

    app.register_blueprint(api)
    client = app.test_client()
    first = client.post("/api/items/3", json={"a": [1, 2]})
    second = client.get("/api/items/4")
    return [
        first.get_json(), second.get_json(), client.get("/api/items/10").get_json(),
        client.get("/hello").get_data(as_text=True), client.get("/hello?name=A%26B").text,
        client.get("/nowhere").status, client.put("/hello").status_code,
        sorted(str(rule) for rule in app.url_map.iter_rules()),
    ]
