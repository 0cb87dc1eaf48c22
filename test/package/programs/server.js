// Starts the bundled server in a new directory, asks whether it is ready, and stops it.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'

const directory = await mkdtemp('server-')
const command = 'node_modules/evidence-registry/dist/server/cli.js'
const child = spawn(process.execPath, [command, '--port', '0', '--data-dir', directory])
const ended = new Promise((resolve) => child.once('close', resolve))
let log = ''
for await (const chunk of child.stdout) {
  log += chunk
  const ready = log.split('\n').find((line) => line.includes('"msg":"ready"') && line.endsWith('}'))
  if (ready === undefined) continue
  const { status } = await fetch(`${JSON.parse(ready).url}/readyz`)
  if (status !== 200) throw new Error(`/readyz returned ${status}`)
  break
}
child.kill('SIGTERM')
const code = await ended
await rm(directory, { recursive: true })
if (code !== 0) throw new Error(`The server ended with ${code}: ${log}`)
