import os
from pathlib import Path

from pydantic import BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, TomlConfigSettingsSource


class Server(BaseModel):
    host: str = "localhost"
    port: int = 80


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="APP_", env_file=".env", env_nested_delimiter="__", toml_file="app.toml", secrets_dir="secrets"
    )

    name: str
    key: SecretStr
    tags: list[str] = []
    level: int = Field(default=1, validation_alias="LEVEL")
    server: Server = Server()
    extra: dict[str, float] = {}

    @classmethod
    def settings_customise_sources(cls, settings_cls, **sources):
        return (*sources.values(), TomlConfigSettingsSource(settings_cls))


def main(args):
    Path(".env").write_text('APP_NAME="of a file"\nAPP_SERVER__PORT=1\n')
    Path("app.toml").write_text('tags = ["toml"]\nname = "toml"\n[extra]\na = 1.5\n')
    Path("secrets").mkdir()
    Path("secrets/app_key").write_text("hidden\n")
    os.environ.update({"APP_SERVER__PORT": "8080", "LEVEL": "3"})
    settings = Settings()
    out = [settings.model_dump(mode="json"), settings.key.get_secret_value(), Settings(name="x").name]
    os.environ["LEVEL"] = "high"
    try:
        Settings()
    except ValidationError as error:
        out.append([(one["type"], one["loc"]) for one in error.errors()])
    return out
