// Own process: takes long, because its commands wait for each other.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freePort } from '../../support/ports.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { programArgs } from '../../support/repository.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { ofSuite } from '../../support/of-suite.ts'

/** The shell commands of the page, in order. */
async function commands(): Promise<readonly string[]> {
  const text = await readFile('server/OPERATIONS.md', 'utf8')
  return [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block)
}

/**
 * What the page expects of a machine with systemd: `systemctl` starts and stops a server with the settings of the file,
 * and waits until it is ready; `npm` installs nothing.
 */
const machine = (root: string, main: string, cli: string): string => `
set -eu
evidence-registry() { ${cli} "$@"; }
npm() { :; }
stop_server() {
  [ -f ${root}/pid ] || return 0
  kill -TERM "$(cat ${root}/pid)" 2>/dev/null || true
  while kill -0 "$(cat ${root}/pid)" 2>/dev/null; do sleep 0.1; done
  rm ${root}/pid
}
start_server() {
  : > ${root}/server.log
  (set -a; . ${root}/etc/evidence-registry.env; set +a; exec ${main} > ${root}/server.log 2>&1) &
  echo $! > ${root}/pid
  until grep -q '"msg":"ready"' ${root}/server.log; do
    kill -0 "$(cat ${root}/pid)" || { cat ${root}/server.log >&2; return 1; }
    sleep 0.1
  done
}
systemctl() {
  case "$1" in
    start) start_server ;;
    stop) stop_server ;;
    restart) stop_server; start_server ;;
  esac
}
`

describe('the page for operators', () => {
  const root = temporaryOfSuite()
  const database = ofSuite(() => PostgresServer.start())

  it('has commands that work as they are written, one after the other', async () => {
    const port = await freePort()
    for (const folder of ['etc', 'root', 'var/lib/evidence-registry'])
      await mkdir(join(root, folder), { recursive: true })
    await chmod(join(root, 'var/lib/evidence-registry'), 0o700)
    const settings = [
      `EVIDENCE_PORT=${port}`,
      `EVIDENCE_DATA_DIR=${root}/var/lib/evidence-registry`,
      `EVIDENCE_POSTGRES_URL=${database().url()}`,
      'EVIDENCE_SEAL_MAX_WAIT_MS=100',
    ]
    await writeFile(join(root, 'etc/evidence-registry.env'), `${settings.join('\n')}\n`)
    const run = (path: string): string => [process.execPath, ...programArgs(path)].join(' ')
    const api = `http://127.0.0.1:${port}/api/v1`
    const blocks = (await commands()).map((block) =>
      block
        .replaceAll(/(?<=[ =])\/(?=etc\/|root\/|var\/lib\/)/g, `${root}/`)
        .replaceAll('http://127.0.0.1:8080/api/v1', api),
    )
    assert.ok(blocks.length >= 12, `${blocks.length} blocks`)
    const key = `-H "x-api-key: $(cat ${root}/var/lib/evidence-registry/operator.key)"`
    const first = `
systemctl start evidence-registry
curl -sSf ${api}/sourceSystem/acme ${key} -H 'content-type: application/json' -d '{"name":"first"}'
echo content > ${root}/file.txt
curl -sSf ${api}/evidences/acme/evidence ${key} -F categoryName=Tools -F subcategoryName=Drills -F externalId=drill \\
  -F name=Drill -F 'images.items=@${root}/file.txt;type=text/plain'
evidence-registry seal --data-dir ${root}/var/lib/evidence-registry
`
    for (const block of blocks)
      for (const line of block.trimEnd().split('\n').slice(0, -1))
        assert.match(line, /(?: &&| \\)$/, 'it stops at an error')
    const shown = blocks.map((block, i) => `echo "== block ${i + 1}" >&2\n{ ${block.trimEnd()}\n} || exit 1`)
    const last = `
curl -sSf ${api}/merkle/verify/drill
systemctl stop evidence-registry
evidence-registry fsck`
    const script = [
      machine(root, run('server/main.ts'), run('server/cli.ts')),
      `trap 'stop_server' EXIT`,
      first,
      ...shown,
      `set -a; . ${root}/etc/evidence-registry.env; set +a`,
      last,
    ]
    await writeFile(join(root, 'script'), script.join('\n'))
    const { code, stdout, stderr } = await runScript(join(root, 'script'))
    assert.equal(code, 0, `${stdout}\n${stderr}`)
    for (const expected of [
      /nothing differs\n/,
      /It holds everything that was signed up to --head\. Start the server/,
      /checked in the target: nothing differs\n/,
      /retired/,
      /"status":"ok"/,
    ])
      assert.match(stdout, expected)
  })
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function runScript(path: string): Promise<Ended> {
  const env = { PATH: process.env['PATH'] ?? '' }
  return new Promise((resolve) => {
    const child = execFile('bash', [path], { env, maxBuffer: 16 * 1024 * 1024 }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}
