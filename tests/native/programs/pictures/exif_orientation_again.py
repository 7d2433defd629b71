from PIL import ExifTags, Image, ImageOps


def main(args):
    im = Image.new("RGB", (30, 20), "red")
    ex = im.getexif()
    ex[ExifTags.Base.Orientation] = 6
    ex[ExifTags.Base.Make] = "Cam"
    ex[ExifTags.Base.DateTime] = "2024:01:01 10:00:00"
    im.save("e.jpg", exif=ex)
    r = Image.open("e.jpg")
    f = ImageOps.exif_transpose(r)
    return {"tags": {ExifTags.TAGS[k]: str(v) for k, v in sorted(r.getexif().items())}, "before": r.size, "after": f.size}
