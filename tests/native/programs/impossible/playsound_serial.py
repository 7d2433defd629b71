# refused: ModuleNotFoundError: serial
import serial

serial.Serial("/dev/ttyUSB0")
