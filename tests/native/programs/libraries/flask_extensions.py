from flask import Flask
from flask_login import LoginManager, UserMixin, current_user, login_required, login_user
from flask_mail import Mail, Message
from flask_restful import Api, Resource, reqparse
from flask_wtf import FlaskForm
from wtforms import IntegerField, StringField
from wtforms.validators import DataRequired, NumberRange


class User(UserMixin):
    id = "7"


class Order(FlaskForm):
    name = StringField(validators=[DataRequired()])
    count = IntegerField(validators=[NumberRange(1, 5)])


class Sums(Resource):
    def get(self):
        parser = reqparse.RequestParser()
        parser.add_argument("n", type=int, required=True, location="args")
        return {"double": 2 * parser.parse_args()["n"]}


def main(args):
    app = Flask("x")
    app.config.update(SECRET_KEY="k", WTF_CSRF_ENABLED=False, TESTING=True, MAIL_DEFAULT_SENDER="a@example.org")
    manager, mail = LoginManager(app), Mail(app)
    manager.user_loader(lambda number: User() if number == "7" else None)
    Api(app).add_resource(Sums, "/sums")

    @app.route("/login")
    def login():
        login_user(User())
        return "in"

    @app.route("/me")
    @login_required
    def me():
        return current_user.id

    @app.route("/order", methods=["POST"])
    def order():
        form = Order()
        return form.data if form.validate_on_submit() else (form.errors, 422)

    client = app.test_client()
    found = [client.get("/me").status_code, client.get("/login").text, client.get("/me").text]
    found += [client.get("/sums?n=21").get_json(), client.get("/sums").status_code]
    found += [client.post("/order", data={"name": "tea", "count": "2"}).get_json()]
    found += [client.post("/order", data={"count": "9"}).get_json()]
    with app.app_context(), mail.record_messages() as sent:
        mail.send(Message("Hi", recipients=["b@example.org"], body="text"))
        found.append([sent[0].subject, sent[0].recipients])
    return found
