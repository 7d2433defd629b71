# refused: ModuleNotFoundError: psycopg2
import psycopg2

psycopg2.connect("dbname=test")
