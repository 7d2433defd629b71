"""Which bundles of certificate authorities are the public ones.

The gateway checks certificates against the roots that its operator trusts. A program that names a
bundle asks to trust the authorities in it and no others. For the usual bundle of public roots, such
as certifi's, that is the same. The authorities of any other bundle are told to the gateway, which
then trusts a server only if its certificate passes both: theirs and the operator's.
"""

from __future__ import annotations

import binascii
import hashlib
import re

_ROOTS = frozenset(
    bytes.fromhex(fingerprint)
    for fingerprint in (
        "2ce1cb0bf9d2f9e102993fbe215152c3b2dd0cabde1c68e5319b839154dbb7f5",  # Starfield G2
        "2cabeafe37d06ca22aba7391c0033d25982952c453647349763a3ab5ad6ccf69",  # GlobalSign R6
        "31ad6648f8104138c738f39ea4320133393e3a18cc02296ef97c2ac9ef6731d0",  # DigiCert Global G3
        "349dfa4058c5e263123b398ae795573c4e1313c83fe68f93556cd5e8031b3c7d",  # GTS R4
        "45140b3247eb9cc8c5b4f0d7b53091f73292089e6e5a63e2749dd3aca9198eda",  # Go Daddy G2
        "5d56499be4d2e08bcfcad08a3e38723d50503bde706948e42f55603019e528ae",  # IdenTrust Commercial 1
        "85666a562ee0be5ce925c1d8890a6f76a87ec16d4d7d5f29ea7419cf20123b69",  # SSL.com RSA
        "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e",  # Amazon 1
        "96bcec06264976f37460779acf28c5a7cfe8a3c0aae11a8ffcee05c0bddf08c6",  # ISRG X1
        "c741f70f4b2a8d88bf2e71c14122ef53ef10eba0cfa5e64cfa20f418853073e0",  # Microsoft RSA 2017
        "cb3ccbb76031e5e0138f8dd39a23f9de47ffc35e43c1144cea27d46a5ab1cb5f",  # DigiCert Global G2
        "cbb522d7b7f127ad6a0113865bdf1cd4102e7d0759af635a7cf4720dc963c53b",  # GlobalSign R3
        "d947432abde7b7fa90fc2e6b59101b1280e0e1c7e4e40fa3c6887fff57a7f4cf",  # GTS R1
        "e793c9b02fd8aa13e21c31228accb08119643b749c898964b1746d46c3d4cbd2",  # USERTrust RSA
    )
)
"""SHA-256 of authorities that every public bundle has held for years, from different companies."""

_ENOUGH = 10
"""So many of them make a bundle public: single authorities come and go."""

_CERTIFICATE = re.compile(
    rb"-----BEGIN (?:TRUSTED )?CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END (?:TRUSTED )?CERTIFICATE"
)


def certificates(bundle: bytes) -> list[bytes]:
    """Returns the certificates of a PEM text as DER."""
    found = []
    for match in _CERTIFICATE.finditer(bundle):
        try:
            found.append(binascii.a2b_base64(match[1]))
        except binascii.Error:
            continue
    return found


def is_public(authorities: list[bytes]) -> bool:
    """True if the roots that browsers trust are among these, whatever else is.

    Further ones are not trusted then: connections to their servers fail, as they should.
    """
    return len({hashlib.sha256(der).digest() for der in authorities} & _ROOTS) >= _ENOUGH
