# refused: RuntimeError: no server can run in the sandbox: call the application with app.test_client()
from flask import Flask

Flask("x").run(port=0)
