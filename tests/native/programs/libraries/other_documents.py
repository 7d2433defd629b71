import io

import docx
import docx2txt
import mammoth
import numpy as np
import olefile
import pydicom
import xlwt
from barcode import EAN13, Code128
from barcode.writer import SVGWriter
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, RLELossless, SecondaryCaptureImageStorage


def written():
    document = docx.Document()
    document.add_heading("Title", 1)
    document.add_paragraph("One ").add_run("two").italic = True
    document.add_paragraph("three", style="List Number")
    document.save("a.docx")


def picture():
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    data = FileDataset("scan.dcm", {}, file_meta=meta, preamble=b"\0" * 128)
    data.PatientName, data.PatientID, data.StudyDate = "Muster^Anna", "007", "20240131"
    data.Rows, data.Columns, data.SamplesPerPixel, data.PhotometricInterpretation = 4, 5, 1, "MONOCHROME2"
    data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 16, 12, 11, 0
    data.SOPClassUID, data.SOPInstanceUID = SecondaryCaptureImageStorage, "1.2.3.4"
    data.PixelData = np.arange(20, dtype=np.uint16).tobytes()
    data.save_as("scan.dcm", enforce_file_format=True)
    read = pydicom.dcmread("scan.dcm")
    shown = [str(read.PatientName), read.PatientName.family_name, read.StudyDate, read.pixel_array.tolist(), str(read["Rows"])]
    read.compress(RLELossless)
    return [*shown, read.file_meta.TransferSyntaxUID.name, read.pixel_array.sum().item(), len(str(read).splitlines())]


def main(args):
    written()
    with open("a.docx", "rb") as file:
        page = mammoth.convert_to_html(file)
    with open("a.docx", "rb") as file:
        text = mammoth.convert_to_markdown(file).value
    book = xlwt.Workbook()
    book.add_sheet("S").write(0, 0, 1)
    book.save("a.xls")
    with olefile.OleFileIO("a.xls") as compound:
        streams = compound.listdir()
    code = io.BytesIO()
    EAN13("590123412345", writer=SVGWriter()).write(code)
    return [docx2txt.process("a.docx"), page.value, [str(message) for message in page.messages], text, streams, picture(),
            EAN13("590123412345").get_fullcode(), code.getvalue().decode().count("<rect"), Code128("Wardian").build()]
