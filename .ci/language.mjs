// Checks the language of the sources and the documentation, as part of `npm run lint`: refuses words and phrases that
// most readers do not know, and comment lines that are wider than the formatter's lines. Prints `file:line` of each.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAX_COLUMNS = 120

const PHRASES = [
  { pattern: /\banew\b/gi, advice: 'write "again"' },
  { pattern: /\bnobody\b/gi, advice: 'name the subject: "no process", "no user"' },
  { pattern: /\bwhoever\b/gi, advice: 'name the subject: "the client that", "the process that"' },
  {
    // "There is no file" and "is no longer" are normal English.
    pattern: /(?<!\bthere\s+)\b(?:is|are)\s+no\s+(?!(?:longer|more|less|fewer|better|worse|different)\b)[a-z]+/gi,
    advice: 'write "is not a ..." or "means no ..."',
  },
]

/** This file contains the words that it refuses. */
const EXCLUDED = new Set(['.ci/language.mjs'])

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.mjs', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !EXCLUDED.has(path))

/** A tracked file can be deleted in the working tree. */
function readTracked(path) {
  try {
    return readFileSync(`${root}/${path}`, 'utf8')
  } catch {
    return ''
  }
}

/** A phrase can continue on the next line of a comment, so comment markers are read as spaces. */
function phrasesIn(text) {
  const plain = text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/)/g, (marker) => `\n${' '.repeat(marker.length - 1)}`)
  return PHRASES.flatMap(({ pattern, advice }) =>
    [...plain.matchAll(pattern)].map(({ 0: match, index }) => ({
      line: text.slice(0, index).split('\n').length,
      message: `"${match.replaceAll(/\s+/g, ' ')}": ${advice}`,
    })),
  )
}

/** Lines that are a comment, or end with one. */
function wideCommentsIn(text) {
  let isInBlock = false
  return text.split('\n').flatMap((content, i) => {
    const isComment = isInBlock || /^\s*(?:\/\/|\/\*)/.test(content) || /\s\/\/ (?!['"`])/.test(content)
    if (/^\s*\/\*/.test(content)) isInBlock = true
    if (content.includes('*/')) isInBlock = false
    const width = Array.from(content).length
    if (!isComment || width <= MAX_COLUMNS) return []
    return [{ line: i + 1, message: `a comment of ${width} columns, at most ${MAX_COLUMNS}` }]
  })
}

const findings = files.flatMap((path) => {
  const text = readTracked(path)
  return [...phrasesIn(text), ...(path.endsWith('.md') ? [] : wideCommentsIn(text))]
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, message }) => `${path}:${line}: ${message}`)
})

for (const finding of findings) process.stdout.write(`${finding}\n`)
if (findings.length > 0) {
  process.stdout.write(`language: ${findings.length} findings in ${files.length} files\n`)
  process.exitCode = 1
}
