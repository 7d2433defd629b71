# refused: ModuleNotFoundError: Pillow
import cv2
