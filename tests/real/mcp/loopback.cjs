// Preloaded into servers that listen on every interface of a fixed port: they listen on a free port of the loopback
// interface instead, and say which on their standard output.
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  const told = args.find((arg) => typeof arg === "function");
  return listen.call(this, { port: 0, host: "127.0.0.1" }, () => {
    console.log(`listening on ${this.address().port}`);
    if (told) told.call(this);
  });
};
// They end with the test that started them.
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
