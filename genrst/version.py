"""The version of the package, for humans and for files it writes."""

VERSION = "0.1.0"
