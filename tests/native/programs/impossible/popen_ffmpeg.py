# refused: FileNotFoundError: sound nor video
from subprocess import PIPE, Popen

p = Popen(["ffmpeg", "-i", "a.mp4", "b.wav"], stdout=PIPE, stderr=PIPE)
print(p.communicate())
