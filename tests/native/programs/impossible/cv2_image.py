# refused: ModuleNotFoundError: cv2
import cv2

print(cv2.imread("x.png"))
