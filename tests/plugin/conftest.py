"""Another package: importing it here would add its methods to the register that the other tests run through."""

collect_ignore_glob = ["*.py"]
