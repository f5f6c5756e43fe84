# Calls one function of a Ruby file, or runs a few lines of Ruby as one: {file, function, code, arguments} comes in as JSON,
# {value: …} or {error: what it did instead, at: line} goes out.
require 'json'

OUT = $stdout.dup
$stdout.reopen($stderr) # what the file prints is no part of the answer

def evenhand_called(file, function, code, arguments)
  if code
    eval("def #{function}(output, context)\n#{code}\nend", TOPLEVEL_BINDING, file, 0)
  else
    $LOAD_PATH.unshift(File.dirname(file))
    load file
  end
  owner, dot, name = function.rpartition('.')
  target = dot.empty? ? self : Object.const_get(owner)
  unless target.respond_to?(name, true)
    return { error: "is not there: #{File.basename(file)} has no function #{function}", at: nil }
  end

  { value: target.send(name, *arguments) }
rescue SystemExit
  { error: 'ended the program', at: nil }
rescue Exception => error # rubocop:disable Lint/RescueException
  line = (error.backtrace || []).find { |at| at.start_with?(file) }
  { error: "raised #{error.class}: #{error.message}", at: line && line[/:(\d+)/, 1] }
end

$stdin.set_encoding('utf-8')
asked = JSON.parse($stdin.read)
answer = evenhand_called(*asked.values_at('file', 'function', 'code', 'arguments'))
begin
  written = JSON.generate(answer)
rescue StandardError => error
  written = JSON.generate({ error: "returned what is not JSON: #{error.message}", at: nil })
end
OUT.write(written)
OUT.flush
exit!(0)
