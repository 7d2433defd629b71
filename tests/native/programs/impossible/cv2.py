# refused: ModuleNotFoundError: PIL
import cv2
