// Makes the verification page a single HTML file that works without a server.
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/**
 * Returns the page with its script and styles inside, and the licences of what it contains. Its policy allows exactly
 * these two, by their hashes, and no request at all.
 */
export async function buildSavedPage() {
  const { output } = await build({
    configFile: path('./vite.config.mjs'),
    logLevel: 'warn',
    build: {
      write: false,
      emptyOutDir: false,
      rollupOptions: { input: [path('./saved-page.tsx')], output: { codeSplitting: false } },
    },
  })
  // `</script` can be only in a string or a regular expression, where the backslash changes nothing.
  const script = output.find(({ type }) => type === 'chunk').code.replaceAll('</script', '<\\/script')
  const style = await styles()
  const licenses = output.find(({ fileName }) => fileName === 'licenses.txt').source
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Verify a proof</title>
<style>${style}</style>
</head>
<!--
${licenses.replaceAll('--', '‐‐')}-->
<body><main id="app"></main><script type="module">${script}</script></body>
</html>
`
  return { page, licenses }
}

/** The stylesheet of the dashboard, minified. */
async function styles() {
  const { output } = await build({
    configFile: path('./vite.config.mjs'),
    logLevel: 'warn',
    build: { write: false, emptyOutDir: false, rollupOptions: { input: [path('./styles/main.css')] } },
  })
  return output.find(({ fileName }) => fileName.endsWith('.css')).source
}
