"""A server of S3's protocol, moto, for `tests/tests/s3.rs`, with one bucket, `documents`.

It serves a free port of the loopback interface, prints it, and ends when its standard input closes.
"""

import os
import sys
import threading

import boto3
from moto.server import ThreadedMotoServer

# Nothing of the machine decides what the client of this script does.
for name in list(os.environ):
    if name.startswith("AWS_") or name.lower().endswith("_proxy"):
        del os.environ[name]
os.environ.update(
    AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull
)


def main() -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="documents")
    print(f"listening on {port}", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    threading.Event().wait()


main()
