# SPDX-License-Identifier: MIT
"""Stands in for the API server of neuron-explorer: GET /api/v1/health, POST /api/v1/db/NAME/_search with the three requests
that AWS's profile-querying skill shows (databaseExplorerQuery, tableSchema, listDbFiles). What the answers look like is not
public: SHAPE chooses one of those that a client must expect. The SQL is answered from a SQLite database.

python3 explorer_api.py DB NAME PORT_FILE SHAPE"""
import http.server
import json
import os
import sqlite3
import sys
import time

DB, NAME, PORT_FILE, SHAPE = sys.argv[1:5]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def reply(self, status, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/api/v1/health":
            self.reply(200, {"status": "starting" if SHAPE == "unhealthy" else "healthy"})
        else:
            self.reply(404, {"error": "no such page"})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/api/v1/db/%s/_search" % NAME:
            self.reply(404, {"error": "profile not found"})
            return
        if SHAPE == "slow":
            time.sleep(20)
        if SHAPE == "garbage":
            self.reply(200, b"\x00 not json", "text/plain")
            return
        if SHAPE == "broken":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"[{")
            self.wfile.flush()
            self.connection.close()
            return
        con = sqlite3.connect("file:%s?mode=ro" % DB, uri=True)
        try:
            if request["type"] == "listDbFiles":
                self.reply(200, [row[0] for row in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")])
                return
            if request["type"] == "tableSchema":
                cursor = con.execute("SELECT name, type FROM pragma_table_info(?)", (request["tableName"],))
            else:
                assert request["type"] == "databaseExplorerQuery" and request["tableName"]
                cursor = con.execute(request["query"])
            columns = [c[0] for c in cursor.description]
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            self.reply(400, {"error": str(error)})
            return
        objects = [dict(zip(columns, row)) for row in rows]
        shapes = {
            "objects": objects, "data": {"data": objects}, "columns": {"columns": columns, "rows": rows},
            "typed": {"columns": [{"name": c, "type": "BIGINT"} for c in columns], "data": rows}, "unknown": {"answer": {"to": "everything"}},
        }
        self.reply(200, shapes[SHAPE])


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(PORT_FILE + ".new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(PORT_FILE + ".new", PORT_FILE)
server.serve_forever()
