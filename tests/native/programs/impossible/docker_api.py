# refused: ModuleNotFoundError: docker
import docker

docker.from_env().containers.list()
