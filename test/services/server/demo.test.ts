import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { programArgs } from '../../support/repository.ts'

it('the demo proves a file, and refutes a changed copy of the proof', async () => {
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, programArgs('test/demo.ts'), (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(stderr, { cause: error }))
    })
  })
  assert.match(output, /^demo\.evidence\.json: PROVEN$/m)
  assert.match(output, /^changed\.evidence\.json: REFUTED: /m)
})
