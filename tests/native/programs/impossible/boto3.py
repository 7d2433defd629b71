# refused: ModuleNotFoundError: network
import boto3
