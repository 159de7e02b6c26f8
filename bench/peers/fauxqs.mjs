// Serves fauxqs on the loopback and without its log of requests; its own command can do neither.
//
//     node fauxqs.mjs PATH-OF-ITS-APP PORT

const [, , path, port] = process.argv;
const { buildApp } = await import(path);
await buildApp({ logger: false }).listen({ port: Number(port), host: "127.0.0.1" });
