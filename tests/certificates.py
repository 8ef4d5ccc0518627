"""An authority of our own and a server's certificate, for tests that encrypt."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Certificates:
    """Files in PEM."""

    authority: Path
    """Whose word is to be taken: for `SSL_CERT_FILE`."""
    server: Path
    """Certificate, then key."""


def certificates(folder: Path, *names: str) -> Certificates:
    """Make an authority and a certificate that it gave a server of these host names and addresses."""
    own, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of a test")])
    authority = _made(own, own, name, name, (x509.BasicConstraints(ca=True, path_length=None), True))
    alternatives = x509.SubjectAlternativeName([_general(each) for each in names])
    server = _made(key, own, x509.Name([]), name, (alternatives, True))
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificates(folder / "authority.pem", folder / "server.pem")
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made.server.write_bytes(server.public_bytes(serialization.Encoding.PEM) + private)
    return made


def _made(
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    subject: x509.Name,
    issuer: x509.Name,
    extension: tuple[x509.ExtensionType, bool],
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now - _DAY, now + _DAY
    )
    return builder.add_extension(*extension).sign(signer, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
