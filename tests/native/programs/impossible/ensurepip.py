# refused: : install
import ensurepip

ensurepip.bootstrap()
