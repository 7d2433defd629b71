# refused: ModuleNotFoundError: boto3
import boto3

boto3.client("s3").list_buckets()
