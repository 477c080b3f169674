"""`make docs`: writes the references that are made from the code."""

from tests.documents.configuration import CONFIGURATION, configuration_reference

if __name__ == "__main__":
    CONFIGURATION.write_text(configuration_reference(), encoding="utf-8")
