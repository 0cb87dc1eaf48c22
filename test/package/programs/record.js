// Writes down every module that the program loads: ES modules as they come, CommonJS ones at its end.
import { appendFileSync } from 'node:fs'
import { createRequire, register } from 'node:module'

register(
  'data:text/javascript,' +
    encodeURIComponent(`
      import { appendFileSync } from 'node:fs'
      export async function load(url, context, nextLoad) {
        appendFileSync('loaded.txt', url + '\\n')
        return nextLoad(url, context)
      }
    `),
)
process.on('exit', () => {
  for (const path of Object.keys(createRequire(import.meta.url).cache)) appendFileSync('loaded.txt', `${path}\n`)
})
