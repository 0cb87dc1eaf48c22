import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { ends, runCli } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

describe('evidence-registry import --url', () => {
  const acme = new CompanyRequests()

  const run = (...args: readonly string[]) =>
    runCli(['import', '--url', acme.service.url, '--company', 'acme', ...args], {
      EVIDENCE_API_KEY: acme.company.keys.I,
    })

  it('creates the evidences of a CSV file on a running server, once', async (t) => {
    await acme.create('there', { name: 'A car', ...VEHICLE_CATEGORY })
    const path = join(await temporaryFor(t), 'cars.csv')
    const lines = [
      'externalId,name,category,subcategory,meta.Plate',
      'csv-1,Golf,Vehicles,Cars,B-AB 1',
      'csv-2,Polo,Vehicles,Boats,',
      'there,Another,Vehicles,Cars,',
      'csv-3,Up,Vehicles,Cars,',
    ]
    await writeFile(path, lines.join('\n'))
    const first = await ends(1, run(path))
    assert.match(first.stdout, /^3 CATEGORY_NOT_FOUND /m)
    assert.match(first.stdout, /^4 EXTERNAL_ID_EXISTS externalId "there" is in use for an evidence with other values$/m)
    assert.match(first.stdout, /^2 evidences created, 0 present before, 2 lines refused$/m)
    const { object } = await acme.ok('getEvidence', { params: { EVIDENCE_EXTERNAL_ID: 'csv-1' } })
    assert.deepEqual([object.name, object.meta], ['Golf', { Plate: 'B-AB 1' }])

    const again = await ends(1, run('--json', path))
    const counts: unknown = JSON.parse(again.stdout.trim().split('\n').at(-1) ?? '')
    assert.deepEqual(counts, { created: 0, present: 2, refused: 2 })
  })

  it('says in one line that the key is missing', async () => {
    const { stderr } = await ends(2, runCli(['import', '--url', acme.service.url, '--company', 'acme', 'a.csv']))
    assert.match(stderr, /^evidence-registry import: set EVIDENCE_API_KEY to a key of the company[^\n]*\n$/)
  })
})
