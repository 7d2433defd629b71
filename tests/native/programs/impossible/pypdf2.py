# refused: ModuleNotFoundError: pypdf
import PyPDF2
