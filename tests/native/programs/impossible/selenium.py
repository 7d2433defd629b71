# refused: ModuleNotFoundError: 
from selenium import webdriver
