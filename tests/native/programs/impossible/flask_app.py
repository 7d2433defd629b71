# refused: ModuleNotFoundError: no server can run here
from flask import Flask, jsonify

app = Flask(__name__)


@app.route("/")
def index():
    return jsonify(ok=True)


app.run()
