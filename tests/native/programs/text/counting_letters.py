# script
text = "strawberry"
print(f"r appears {text.count('r')} times")
for i, c in enumerate(text):
    if c == "r":
        print("position", i)
