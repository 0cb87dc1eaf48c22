// Starts the server with the program, the settings and the health check of a Dockerfile, in the folder of its modules,
// and stops it when it is healthy. Run by root, the server is another user, who may write to its data only.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const text = readFileSync(process.argv[2], 'utf8')
const listOf = (name) => JSON.parse(new RegExp(`${name} (\\[.*\\])$`, 'm').exec(text)[1])
const [[, program], [, ...check]] = [listOf('ENTRYPOINT'), listOf('CMD')]
const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(text).map(Number)
const user = process.getuid() === 0 ? { uid, gid } : {}
const data = mkdtempSync(join(tmpdir(), 'evidence-image-'))
if (user.uid !== undefined) chownSync(data, uid, gid)

const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address()
probe.close()

const settings = Object.fromEntries([...text.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, ...pair]) => pair))
const own = { EVIDENCE_DATA_DIR: data, EVIDENCE_PORT: '0', EVIDENCE_METRICS_ADDRESS: `127.0.0.1:${port}` }
const env = { PATH: process.env.PATH, ...settings, ...own }
const server = spawn(process.execPath, [program.replace('/app/', '')], { env, ...user, stdio: 'inherit' })
while (spawnSync(process.execPath, check, { env, ...user }).status !== 0) {
  if (server.exitCode !== null) throw new Error(`The server ended with ${server.exitCode}`)
  await sleep(200)
}
server.kill()
const [code] = await once(server, 'exit')
rmSync(data, { recursive: true })
process.exitCode = code
