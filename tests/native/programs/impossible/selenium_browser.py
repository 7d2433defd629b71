# refused: ModuleNotFoundError: selenium
from selenium import webdriver

webdriver.Chrome().get("https://x.org")
