import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { skipWithoutOpenssl } from '../../support/openssl.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

/** Runs the commands of core/verify/README.md, as they are written there, on the proof of a running server. */
const README = readFileSync('core/verify/README.md', 'utf8')

/** The code block of a language that contains a text. */
function block(language: string, containing: string): string {
  const blocks = [...README.matchAll(/```(\w+)\n([^]*?)```/g)]
  const found = blocks.find(([, name, code = '']) => name === language && code.includes(containing))
  assert.ok(found?.[2], `core/verify/README.md has no ${language} block with ${containing}`)
  return found[2]
}

describe('core/verify/README.md', () => {
  let directory = ''
  let server: ServerProcess

  before(async () => {
    directory = await makeTemporary()
    const data = join(directory, 'data')
    server = new ServerProcess(data)
    const api = `${await server.ready()}/api/v1`
    const key = readFileSync(join(data, 'operator.key'), 'utf8').trim()
    const post = async (path: string, body: object): Promise<void> => {
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
      const response = await fetch(api + path, { method: 'POST', headers, body: JSON.stringify(body) })
      assert.equal(response.status, 201, await response.text())
    }
    await post('/sourceSystem/acme', { name: 'warehouse' })
    await post('/evidences/acme/evidence', {
      externalId: 'drill-4711',
      name: 'Hammer drill',
      categoryName: 'Tools',
      subcategoryName: 'Drills',
    })
    let proof = ''
    do {
      await delay(20)
      proof = await (await fetch(`${api}/merkle/verify/drill-4711`)).text()
    } while (!proof.includes('"tsa"'))
    writeFileSync(join(directory, 'proof.json'), proof)
    writeFileSync(join(directory, 'ca.pem'), readFileSync(join(data, 'tsa/ca.pem')))
    const save = async (name: string, path: string): Promise<void> =>
      writeFileSync(join(directory, name), await (await fetch(api + path)).text())
    await save('policy.json', '/log/policy')
    await save('drill-4711.evidence.json', '/merkle/verify/drill-4711?format=bundle')
    // As if the package was installed there, and the repository cloned.
    mkdirSync(join(directory, 'node_modules/.bin'), { recursive: true })
    symlinkSync(resolve('.'), join(directory, 'node_modules/evidence-registry'))
    const start = `#!/bin/sh\nexec "${process.execPath}" "${resolve('dist/server/cli.js')}" "$@"\n`
    writeFileSync(join(directory, 'node_modules/.bin/evidence-registry'), start, { mode: 0o755 })
    writeFileSync(join(directory, 'package.json'), '{}')
    symlinkSync(resolve('test'), join(directory, 'test'))
  })
  after(async () => {
    await server.stop()
    await removeTemporary(directory)
  })

  it('recomputes event, path and root with the program it shows', () => {
    writeFileSync(join(directory, 'check.mjs'), block('js', 'createHash'))
    const { stdout, stderr } = spawnSync(process.execPath, ['check.mjs'], { cwd: directory, encoding: 'utf8' })
    assert.equal(stdout, 'event  true\nroot   true\nsigned true\n', stderr)
  })

  const run = (name: string, source: string): string => {
    writeFileSync(join(directory, name), source)
    const { stdout, stderr, status } = spawnSync(process.execPath, [name], { cwd: directory, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    return stdout
  }

  it('verifies the bundle with the program it shows', () => {
    const { txId } = JSON.parse(readFileSync(join(directory, 'proof.json'), 'utf8')) as { readonly txId: string }
    const program = block('js', "readFileSync('drill-4711")
    assert.match(program, /txId: '4f1c…'/)
    assert.match(run('verify.mjs', program.replace('4f1c…', txId)), new RegExp(`^${txId} \\d{4}-`))
    assert.match(run('other.mjs', program.replace('4f1c…', '0'.repeat(64))), /^refuted: expected\.subject: /)
  })

  it('verifies the bundle as a page does', () => {
    const given = `
      import { readFileSync } from 'node:fs'
      const file = new Blob([readFileSync('drill-4711.evidence.json')])
      const policyText = readFileSync('policy.json', 'utf8')
    `
    const program = `${given}\n${block('js', 'holdsTokens(')}\nconsole.log(result.state)`
    assert.equal(run('page.mjs', program), 'proven\n')
  })

  it('verifies the bundle with the command it shows', () => {
    const { stdout, stderr, status } = spawnSync(
      'bash',
      ['-ec', block('sh', 'npx --no-install evidence-registry verify')],
      {
        cwd: directory,
        encoding: 'utf8',
      },
    )
    assert.equal(status, 0, stderr)
    assert.match(stdout, /proven/i)
  })

  const hasPython = spawnSync('python3', ['--version']).status === 0
  it(
    'verifies the bundle with Python',
    { skip: hasPython ? false : 'python3 is missing: apt-get install python3' },
    () => {
      const { stdout, stderr, status } = spawnSync('bash', ['-ec', block('sh', 'verify.py')], {
        cwd: directory,
        encoding: 'utf8',
      })
      assert.equal(status, 0, stderr + stdout)
    },
  )

  it('checks the time stamp with the openssl commands it shows', { skip: skipWithoutOpenssl() }, () => {
    const commands = block('sh', 'openssl ts -verify')
    const { stdout, stderr } = spawnSync('bash', ['-ec', commands], { cwd: directory, encoding: 'utf8' })
    assert.match(stdout + stderr, /Verification: OK/)
    assert.match(stdout, /Time stamp: /)
  })
})
